// Medians, and ratios that a noisy machine does not spoil.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * The median of the ratios taken round by round. Samples of one round are neighbours in time, so that
 * a slow minute of the machine is in both and cancels out.
 */
export function pairedRatio(samples, baseline) {
  const rounds = Math.min(samples.length, baseline.length)
  if (rounds === 0) return undefined
  return median(samples.slice(0, rounds).map((sample, round) => sample / baseline[round]))
}

/** Between the least samples of each: what else the machine does only adds to a time. */
export function leastDifference(samples, baseline) {
  return Math.min(...samples) - Math.min(...baseline)
}
