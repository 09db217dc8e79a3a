// In the place of pluginlib and of ros2_control's manager: reads count, period and readings, and prints the commands.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "controller_interface/controller_interface.hpp"

#define PLUGINLIB_EXPORT_CLASS(KIND, BASE) \
  int main() \
  { \
    KIND made; \
    BASE & controller = made; \
    const rclcpp_lifecycle::State state{}; \
    int count = 0; \
    double period = 0.0; \
    bool ok = controller.on_init() == controller_interface::CallbackReturn::SUCCESS; \
    ok = ok && controller.on_configure(state) == controller_interface::CallbackReturn::SUCCESS; \
    for (const auto & name : controller.state_interface_configuration().names) std::cout << name << " "; \
    for (const auto & name : controller.command_interface_configuration().names) std::cout << name << " "; \
    std::cout << std::endl; \
    controller.state_interfaces_.resize(controller.state_interface_configuration().names.size()); \
    controller.command_interfaces_.resize(controller.command_interface_configuration().names.size()); \
    ok = ok && controller.on_activate(state) == controller_interface::CallbackReturn::SUCCESS; \
    std::cin >> count >> period; \
    for (int k = 0; k <= count; k++) { \
      if (k == count) { \
        ok = ok && controller.on_deactivate(state) == controller_interface::CallbackReturn::SUCCESS; \
      } else { \
        for (auto & each : controller.state_interfaces_) { \
          std::string word; \
          std::cin >> word; \
          each.value = std::strtod(word.c_str(), nullptr); \
        } \
        ok = ok && controller.update(rclcpp::Time(k * period), rclcpp::Duration()) == \
                     controller_interface::return_type::OK; \
      } \
      for (const auto & each : controller.command_interfaces_) std::printf("%.17g ", each.value); \
      std::printf("\n"); \
    } \
    controller.node.parameters["state_interfaces"].emplace_back("one more"); \
    ok = ok && controller.on_configure(state) == controller_interface::CallbackReturn::ERROR; \
    return ok ? 0 : 1; \
  }
