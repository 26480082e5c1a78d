#include "sidestream/io/event_kinds.hpp"

namespace sidestream::io {

const core::Registry<EventKind>& event_kinds() {
  static const core::Registry<EventKind> all(
      {"events", "kind of event", "what the lines of `events.jsonl` tell: `event`"},
      {{"run_start", "a run begins: its simulation, ranks, tasks and machine"},
       {"restart", "the file that a run went on from"},
       {"checkpoint_skipped", "a checkpoint that a restart passed over because it is damaged"},
       {"step", "where the run stands, and what its simulation tells of the step"},
       {"warning", "what is no error and worth knowing, once"},
       {"due_by_clock", "a task or file was due because of `every_wall_time`"},
       {"publish", "a snapshot was handed to a transport: what it cost, and what became of it"},
       {"withdrawn", "a snapshot that waited gave way to a newer one"},
       {"unheard", "publishes to a stream for which nobody had come"},
       {"spill_failed", "a snapshot could not be stored on the disk while it waited"},
       {"snapshot", "what a task of the transport `file` reads was stored"},
       {"receive", "a snapshot has come to those who analyse"},
       {"analysis_begun", "an analysis of a step begins"},
       {"analysis", "a result is written: what it took, and where it is"},
       {"analysis_failed", "an analysis has no result, and why"},
       {"no_earlier_result", "a task that looks back has nothing to look back to"},
       {"job_ended", "an analysis in a job of its own was ended by its deadline or an interruption"},
       {"plotfile", "a plot file is complete: its size, and what it cost"},
       {"plotfile_failed", "a plot file could not be written, and why"},
       {"checkpoint_begun", "a checkpoint is being written"},
       {"checkpoint", "a checkpoint is complete, and waits for the results of before"},
       {"checkpoint_staged", "a checkpoint is on disks of the nodes, and a restart may begin with it"},
       {"stage_failed", "a file could not be staged, and why; it is written at once"},
       {"staged_committed", "a restart has written and committed what the run before had staged"},
       {"staged_skipped", "what a run had staged is not whole, or could not be written, and why"},
       {"checkpoint_failed", "a checkpoint could not be written, and why"},
       {"checkpoint_put_off", "a checkpoint was due while another waited to be committed"},
       {"checkpoint_committed", "a restart takes this checkpoint from now on"},
       {"checkpoint_refused", "a checkpoint is never committed, because what belongs before it is lost"},
       {"steering", "a change by hand: what, by whom, when and why"},
       {"steering_refused", "a change by hand that did not go with the state"},
       {"steering_left", "a change by hand whose step the run did not reach"},
       {"stream_open", "where readers of a stream come to"},
       {"stream_attach", "a reader has come"},
       {"stream_leave", "a reader has gone, and why"},
       {"stream_dismissed", "a reader was let go, and why"},
       {"stream_dropped", "a step that a reader was not given"},
       {"stream_refused", "somebody whose key is not known, or how many more of them"},
       {"stream_failed", "a stream has ended by an error"},
       {"ended_early", "a run ended by its wall time, a signal or steering"},
       {"results_lost", "results and files that a run could not make"},
       {"bill", "where the time of a group of ranks went"},
       {"run_end", "a run ends: how, and what it did"},
       {"analyze_start", "what was stored is being analysed"},
       {"analyze_end", "all that was stored is analysed"},
       {"attach_start", "another job has begun with a task of the run"},
       {"attach_step", "another job has done a step of its task"},
       {"attach_end", "another job has ended, and why"}});
  return all;
}

}  // namespace sidestream::io
