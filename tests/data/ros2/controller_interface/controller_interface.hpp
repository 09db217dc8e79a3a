// As much of ros2_control as a controller of flexarm uses, to compile and run one without ROS.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace rclcpp
{
class Time
{
public:
  explicit Time(double seconds) : seconds_(seconds) {}
  double seconds() const { return seconds_; }

private:
  double seconds_;
};
class Duration
{
};
}  // namespace rclcpp

namespace rclcpp_lifecycle
{
class State
{
};
}  // namespace rclcpp_lifecycle

namespace hardware_interface
{
class Loaned
{
public:
  double get_value() const { return value; }
  [[nodiscard]] bool set_value(double given)
  {
    value = given;
    return true;
  }
  double value = 0.0;
};
}  // namespace hardware_interface

namespace controller_interface
{
enum class CallbackReturn { SUCCESS, ERROR };
enum class return_type { OK, ERROR };
enum class interface_configuration_type { ALL, INDIVIDUAL, NONE };

struct InterfaceConfiguration
{
  interface_configuration_type type;
  std::vector<std::string> names;
};

class Node
{
public:
  struct Parameter
  {
    std::vector<std::string> value;
    std::vector<std::string> as_string_array() const { return value; }
  };
  Parameter get_parameter(const std::string & name) const { return {parameters.at(name)}; }
  std::map<std::string, std::vector<std::string>> parameters;
};

class ControllerInterface
{
public:
  virtual ~ControllerInterface() = default;
  virtual CallbackReturn on_init() = 0;
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) = 0;
  virtual return_type update(const rclcpp::Time &, const rclcpp::Duration &) = 0;
  Node * get_node() { return &node; }
  Node node;
  std::vector<hardware_interface::Loaned> command_interfaces_, state_interfaces_;

protected:
  template <typename T>
  void auto_declare(const std::string & name, const T & value)
  {
    node.parameters.emplace(name, value);
  }
};
}  // namespace controller_interface
