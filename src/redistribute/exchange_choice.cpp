#include "sidestream/redistribute/exchange_choice.hpp"

#include "sidestream/comm/words.hpp"

namespace sidestream::redistribute {

namespace {

constexpr const char *strategy_word = "exchange", *wisdom_word = "wisdom";

}  // namespace

comm::Communicator with_exchange(const comm::Communicator& comm, const ExchangeChoice& choice) {
  return comm::with_word(comm::with_word(comm, strategy_word, entry_of(choice.strategy).name), wisdom_word,
                         choice.wisdom);
}

ExchangeChoice exchange_of(const comm::Communicator& comm) {
  const std::string name = comm::word_of(comm, strategy_word);
  return {name.empty() ? Strategy::automatic : strategies().named(name).strategy, comm::word_of(comm, wisdom_word)};
}

}  // namespace sidestream::redistribute
