/** The metrics. Their attributes name workflows and nodes, never runs: the number of series stays small. */
import { type Counter, type Histogram, type Meter, ValueType } from "@opentelemetry/api"

export interface Instruments {
  readonly tasks: Counter
  readonly taskDuration: Histogram
  readonly taskRetries: Counter
  readonly taskQueueTime: Histogram
  readonly runs: Counter
  readonly runDuration: Histogram
  readonly tokens: Counter
  readonly cost: Counter
}

/** From less than a millisecond of plain code to agents that work for an hour. */
const MILLISECONDS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000,
  3_600_000,
]

export function makeInstruments(meter: Meter): Instruments {
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(name, { unit, description, valueType: ValueType.INT })
  const duration = (name: string, description: string) =>
    meter.createHistogram(name, {
      unit: "ms",
      description,
      advice: { explicitBucketBoundaries: MILLISECONDS },
    })
  return {
    tasks: counter("superstep.tasks", "{attempt}", "Attempts at tasks that ended, by outcome."),
    taskDuration: duration("superstep.task.duration", "How long an attempt took, waiting included."),
    taskRetries: counter(
      "superstep.task.retries",
      "{retry}",
      "Failed attempts that are followed by another.",
    ),
    taskQueueTime: duration("superstep.task.queue_time", "How long a task waited for a free place."),
    runs: counter("superstep.runs", "{run}", "Runs that ended, by status."),
    runDuration: duration("superstep.run.duration", "How long a run took in this process."),
    tokens: counter("superstep.tokens", "{token}", "Tokens that runs used."),
    cost: meter.createCounter("superstep.cost", { unit: "USD", description: "What runs cost." }),
  }
}
