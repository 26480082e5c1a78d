#include "sidestream/comm/words.hpp"

#include <utility>

#include "comm/luggage.hpp"

namespace sidestream::comm {

Communicator with_word(const Communicator& comm, const std::string& name, std::string word) {
  Communicator copy = comm.duplicate();
  const Luggage* const carried = luggage_of(copy.raw());
  Luggage luggage = carried != nullptr ? *carried : Luggage{};
  luggage.words[name] = std::move(word);
  set_luggage(copy.raw(), std::move(luggage));
  return copy;
}

std::string word_of(const Communicator& comm, const std::string& name) {
  const Luggage* const luggage = luggage_of(comm.raw());
  if (luggage == nullptr) return "";
  const auto word = luggage->words.find(name);
  return word != luggage->words.end() ? word->second : "";
}

}  // namespace sidestream::comm
