#pragma once

namespace sidestream::amr {

/// Whether each level takes steps of its own, half as long as those of the next coarser level, or all levels the same.
enum class TimeLevels { subcycled, equal };

/// Steps of a level in one of the next coarser level.
inline int substeps(TimeLevels levels) {
  return levels == TimeLevels::subcycled ? 2 : 1;
}

/// One step of one level within a step of all: one of the coarsest level that is advanced.
struct LevelStep {
  int level = 0;
  double begin = 0.0, end = 1.0;  ///< as parts of the step of all levels
  double coarse_weight = 0.0;     ///< how far its beginning is from the coarser level's older to its newer state
};

/// The order of all levels' steps within a step of the coarsest: `advance(step)` a level, then the finer levels catch
/// up, then `synchronize(level)` it with the finer level, which is at the same time. (Berger & Colella 1989.)
template <typename Advance, typename Synchronize>
void subcycle(const LevelStep& step, int finest_level, TimeLevels levels, const Advance& advance,
              const Synchronize& synchronize) {
  advance(step);
  if (step.level == finest_level) return;
  const int parts = substeps(levels);
  for (int part = 0; part < parts; ++part) {
    const double length = (step.end - step.begin) / parts;
    const double begin = step.begin + part * length, end = part + 1 == parts ? step.end : begin + length;
    subcycle({step.level + 1, begin, end, static_cast<double>(part) / parts}, finest_level, levels, advance,
             synchronize);
  }
  synchronize(step.level);
}

}  // namespace sidestream::amr
