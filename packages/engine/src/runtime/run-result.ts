/** What a run has come to, from its machine. */
import {
  type ErrorData,
  fromErrorData,
  type Machine,
  type OpenRequest,
  type RunId,
  SuperstepError,
} from "../core/index.ts"
import { outerId } from "./events.ts"
import type { Thrown } from "./frame.ts"
import type { LoadedRun } from "./loaded-run.ts"
import type { RunResult } from "./options.ts"

export function resultOf(
  runId: RunId,
  machine: Machine,
  requests: readonly OpenRequest[],
  thrown?: Thrown,
): RunResult {
  const status = machine.isOver() ? machine.status : "waiting"
  return {
    runId,
    status: status as RunResult["status"],
    outputs: [...machine.outputs],
    state: machine.allState(),
    ...(machine.error === undefined ? {} : { error: withThrown(machine.error, thrown) }),
    requests,
    undelivered: [...machine.undelivered],
    usage: machine.usage,
    supersteps: machine.superstep,
  }
}

/** Of a run that is not at work here. */
export function loadedResult({ runId, frames }: LoadedRun): RunResult {
  const { machine } = frames.get("") as { machine: Machine }
  return resultOf(runId, machine, requestsOf(frames))
}

/** The open questions of all frames, under ids that are unique in the run. */
export function requestsOf(frames: Iterable<[string, { readonly machine: Machine }]>): OpenRequest[] {
  return [...frames].flatMap(([key, { machine }]) =>
    machine.requests().map((request) => ({ ...request, id: outerId(key, request.id) })),
  )
}

/** The error from the journal; its cause is what was thrown in this process, since stacks are not journaled. */
function withThrown(data: ErrorData, thrown: Thrown | undefined): SuperstepError {
  const { code, message, node, attempt } = data
  if (thrown === undefined || thrown.data.code !== code || thrown.data.message !== message)
    return fromErrorData(data)
  return new SuperstepError(code, message, {
    cause: thrown.error,
    ...(node === undefined ? {} : { node }),
    ...(attempt === undefined ? {} : { attempt }),
  })
}
