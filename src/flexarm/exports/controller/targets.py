"""Wrappers of a controller's C library for other programs: Simulink, ros2_control, and loops over shared memory."""

from string import Template

from flexarm import escape
from flexarm.exports.controller.inputs import ENDS
from flexarm.exports.controller.library import Board
from flexarm.exports.controller.programs import shared
from flexarm.exports.sfunction import BUILD

SFUNCTION = Template("""// $title, as a level-2 S-function of Simulink. Written by flexarm.
//
// Input: $ny raw readings, in the order of $name.h; a NaN is an invalid reading.
// Outputs: $inputs; then the status of the sample.
#define S_FUNCTION_NAME ${name}_sfun
#define S_FUNCTION_LEVEL 2

#include "simstruc.h"

#include "$name.h"

#define WORDS ((int_T)((sizeof($name) + sizeof(real_T) - 1U) / sizeof(real_T)))

static void mdlInitializeSizes(SimStruct *S)
{
    ssSetNumSFcnParams(S, 0);
    if (ssGetNumSFcnParams(S) != ssGetSFcnParamsCount(S)) {
        return;
    }
    ssSetNumContStates(S, 0);
    ssSetNumDiscStates(S, 0);
    (void)ssSetNumInputPorts(S, $ports);
$ins    (void)ssSetNumOutputPorts(S, 2);
    ssSetOutputPortWidth(S, 0, $nu);
    ssSetOutputPortWidth(S, 1, 1);
    (void)ssSetNumDWork(S, 1);
    ssSetDWorkWidth(S, 0, WORDS);
    ssSetDWorkDataType(S, 0, SS_DOUBLE);
    ssSetNumSampleTimes(S, 1);
    ssSetOptions(S, SS_OPTION_EXCEPTION_FREE_CODE);
}

static void mdlInitializeSampleTimes(SimStruct *S)
{
    ssSetSampleTime(S, 0, $period);
    ssSetOffsetTime(S, 0, 0.0);
}

#define MDL_INITIALIZE_CONDITIONS
static void mdlInitializeConditions(SimStruct *S)
{
    ${name}_init(($name *)ssGetDWork(S, 0));
}

// A sample belongs to one call at a sample hit, since the outputs depend on the readings without delay.
static void mdlOutputs(SimStruct *S, int_T tid)
{
    ${name}_inputs inputs;
    ${name}_outputs outputs;
    real_T *u = ssGetOutputPortRealSignal(S, 0);
    real_T *status = ssGetOutputPortRealSignal(S, 1);
$read    inputs.fresh = 1u;
    ${name}_step(($name *)ssGetDWork(S, 0), &inputs, (double)ssGetT(S), &outputs);
    for (int i = 0; i < $nu; i++) {
        u[i] = (real_T)outputs.u[i];
    }
    status[0] = (real_T)outputs.status;
    (void)tid;
}

static void mdlTerminate(SimStruct *S)
{
    (void)S;
}

#ifdef MATLAB_MEX_FILE
#include "simulink.c"
#else
#include "cg_sfun.h"
#endif
""")

ROS = Template("""// $title, as a controller of ros2_control. Written by flexarm.
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "controller_interface/controller_interface.hpp"
#include "pluginlib/class_list_macros.hpp"

#include "$name.h"

namespace ${name}_ros2
{

class Controller : public controller_interface::ControllerInterface
{
public:
  controller_interface::CallbackReturn on_init() override
  {
    auto_declare<std::vector<std::string>>("state_interfaces", {$states});
    auto_declare<std::vector<std::string>>("command_interfaces", {$commands});
    return controller_interface::CallbackReturn::SUCCESS;
  }

  controller_interface::InterfaceConfiguration command_interface_configuration() const override
  {
    return {controller_interface::interface_configuration_type::INDIVIDUAL, commands_};
  }

  controller_interface::InterfaceConfiguration state_interface_configuration() const override
  {
    return {controller_interface::interface_configuration_type::INDIVIDUAL, states_};
  }

  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    states_ = get_node()->get_parameter("state_interfaces").as_string_array();
    commands_ = get_node()->get_parameter("command_interfaces").as_string_array();
    const bool fits = states_.size() == ${ny}u && commands_.size() == ${nu}u;
    return fits ? controller_interface::CallbackReturn::SUCCESS : controller_interface::CallbackReturn::ERROR;
  }

  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    ${name}_init(&controller_);
    return controller_interface::CallbackReturn::SUCCESS;
  }

  controller_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    const std::array<double, $nu> safe = {$safe};
    for (std::size_t i = 0; i < ${nu}u; i++) {
      static_cast<void>(command_interfaces_[i].set_value(safe[i]));
    }
    return controller_interface::CallbackReturn::SUCCESS;
  }

  controller_interface::return_type update(const rclcpp::Time & time, const rclcpp::Duration &) override
  {
    ${name}_inputs inputs{};
    ${name}_outputs outputs{};
$read    inputs.fresh = 1u;
    ${name}_step(&controller_, &inputs, time.seconds(), &outputs);
    for (std::size_t i = 0; i < ${nu}u; i++) {
      static_cast<void>(command_interfaces_[i].set_value(static_cast<double>(outputs.u[i])));
    }
    return controller_interface::return_type::OK;
  }

private:
  std::vector<std::string> states_;
  std::vector<std::string> commands_;
  ::$name controller_{};
};

}  // namespace ${name}_ros2

PLUGINLIB_EXPORT_CLASS(${name}_ros2::Controller, controller_interface::ControllerInterface)
""")

ROS_CMAKE = Template("""cmake_minimum_required(VERSION 3.16)
project(${name}_ros2 C CXX)

set(CMAKE_C_STANDARD 99)
set(CMAKE_CXX_STANDARD 17)
find_package(ament_cmake REQUIRED)
find_package(controller_interface REQUIRED)
find_package(pluginlib REQUIRED)

add_library(${name}_ros2 SHARED ${name}_ros2.cpp ../$name.c)
target_include_directories(${name}_ros2 PRIVATE "$${CMAKE_CURRENT_SOURCE_DIR}/..")
ament_target_dependencies(${name}_ros2 controller_interface pluginlib)
pluginlib_export_plugin_description_file(controller_interface ${name}_ros2.xml)
install(TARGETS ${name}_ros2 LIBRARY DESTINATION lib)
ament_package()
""")

ROS_PACKAGE = Template("""<?xml version="1.0"?>
<package format="3">
  <name>${name}_ros2</name>
  <version>0.0.0</version>
  <description>$title</description>
  <maintainer email="nobody@example.com">nobody</maintainer>
  <license>unknown</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <depend>controller_interface</depend>
  <depend>pluginlib</depend>
  <export>
    <build_type>ament_cmake</build_type>
  </export>
</package>
""")

ROS_PLUGIN = Template("""<library path="${name}_ros2">
  <class name="${name}_ros2/Controller" type="${name}_ros2::Controller"
         base_class_type="controller_interface::ControllerInterface">
    <description>$title</description>
  </class>
</library>
""")


def simulink(board: Board) -> dict[str, str]:
    """Return the S-function and its build script by file name."""
    ny = len(board.inputs.names)
    port = "    ssSetInputPortWidth(S, 0, $ny);\n    ssSetInputPortRequiredContiguous(S, 0, 1);\n"
    port += "    ssSetInputPortDirectFeedThrough(S, 0, 1);\n"
    read = "    const real_T *y = (const real_T *)ssGetInputPortSignal(S, 0);\n"
    read += f"    for (int i = 0; i < {ny}; i++) {{\n        inputs.y[i] = ({board.real})y[i];\n    }}\n"
    code = SFUNCTION.substitute(
        _common(board),
        period=repr(float(board.feedback.period)),
        ports=int(ny > 0),
        ins=Template(port).substitute(ny=ny) if ny else "",
        read=read if ny else "",
        inputs=", ".join(map(escape.comment, board.model.inputs)),
    )
    build = BUILD.substitute(plant=board.name, sfun=f"{board.name}_sfun")
    return {f"{board.name}_sfun.c": code, f"{board.name}_build.m": build}


def ros2(board: Board) -> dict[str, str]:
    """Return the sources of a package with a plug-in for ros2_control by file name, in the folder `ros2`."""
    common, name, ny = _common(board), board.name, len(board.inputs.names)
    read = f"    for (std::size_t i = 0; i < {ny}u; i++) {{\n"
    read += f"      inputs.y[i] = static_cast<{board.real}>(state_interfaces_[i].get_value());\n    }}\n"
    texts = {
        f"{name}_ros2.cpp": ROS.substitute(
            common,
            states=", ".join(f'"{each}"' for each in _states(board)),
            commands=", ".join(f'"{each.replace(".", "_")}/effort"' for each in board.model.inputs),
            safe=", ".join(repr(float(x)) for x in board.settings.safe),
            read=read if ny else "",
        ),
        f"{name}_ros2.xml": ROS_PLUGIN.substitute(common),
        "CMakeLists.txt": ROS_CMAKE.substitute(common),
        "package.xml": ROS_PACKAGE.substitute(common),
    }
    return {f"ros2/{file}": text for file, text in texts.items()}


TARGETS = {"simulink": simulink, "ros2": ros2, "shared": shared}
"""Wrappers by name."""


def _states(board: Board) -> list[str]:
    """Return the names of state interfaces, "NAME/position" unless the header says that it is another kind."""
    kinds = {", rate": "velocity", ", acceleration": "acceleration", ", state of a drive": "state"}
    found = []
    for name, described in zip(board.inputs.names, board.inputs.measured.names, strict=True):
        end = next((end for end in kinds if described.endswith(end)), "")
        base = name.removesuffix(ENDS.get(end, "")).replace(".", "_")
        found.append(f"{base}/{kinds.get(end, 'position')}")
    return found


def _common(board: Board) -> dict[str, object]:
    title = f"{board.model.arm.name}: the controller {board.feedback.name}"
    counts = {"ny": len(board.inputs.names), "nu": len(board.model.inputs)}
    return {"title": escape.comment(title), "name": board.name, **counts}
