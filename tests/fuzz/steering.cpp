// A request of somebody who steers a run: it is answered, whatever it holds.
#include "couple/steering/change.hpp"
#include "fuzz/target.hpp"
#include "sidestream/couple/steering_desk.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const nlohmann::json request = nlohmann::json::parse(data, data + size, nullptr, false);
  double number = 0.5;
  std::vector<double> vector{1.0};
  core::Option option;
  option.name = "number";
  option.range(0.0, 1.0);
  core::Option other = option;
  other.name = "vector";
  couple::SteeringDesk desk;
  desk.open({couple::make_knob(option, number), couple::make_knob(other, vector)},
            {{{"density", "", "", 0.0}}, mesh::domain_of({8, 8, 8}), {"density"}, true});
  desk.tell({.state = "running"});
  const bool is_taken = desk.answer(request).at("ok").get<bool>();
  fuzz::expect(is_taken || !desk.answer(request).at("message").get<std::string>().empty());
  for (const couple::Change& change : desk.take(0, false)) {
    if (change.verb == "set" && change.name == "number")
      fuzz::expect(change.value.get<double>() >= 0.0 && change.value.get<double>() <= 1.0);
    if (change.verb == "edit") couple::edit_from(change.name, change.value);
  }
  return 0;
}
