/** The messages of a handler that has returned, each with the route that its edges decide. */
import type { Json, NodeId, Route, Send, Task } from "../../core/index.ts"
import { isPromise, type MaybePromise } from "../ports/maybe-promise.ts"
import { MultiOutput, type ProgramNode } from "../ports/program.ts"
import { ownValue } from "../ports/values.ts"
import type { TaskFrame } from "./task-frame.ts"

/** A message that the handler sent while it ran. */
export interface Outgoing {
  readonly value: Json
  readonly to?: NodeId | undefined
  /** Set if nothing is left to decide. */
  readonly route?: Route | undefined
}

const NONE: readonly Send[] = []

/** Messages keep the order in which they were sent; what is returned comes last. */
export function sendsOf(
  frame: TaskFrame,
  task: Task,
  returned: unknown,
  outgoing: readonly Outgoing[] | undefined,
): MaybePromise<readonly Send[]> {
  if (outgoing !== undefined || returned instanceof MultiOutput)
    return manySends(frame, task, returned, outgoing ?? [])
  return returned === undefined ? NONE : oneSend(frame, task, messageOf(frame, task, returned))
}

/** A message that the handler returned, or its failure. */
export function oneSend(frame: TaskFrame, task: Task, value: Json): MaybePromise<readonly Send[]> {
  const route = programOf(frame, task).router.route(value, true, frame.machine)
  return isPromise(route) ? sendLater(value, route) : [{ value, route }]
}

async function sendLater(value: Json, route: Promise<Route>): Promise<readonly Send[]> {
  return [{ value, route: await route }]
}

async function manySends(
  frame: TaskFrame,
  task: Task,
  returned: unknown,
  outgoing: readonly Outgoing[],
): Promise<readonly Send[]> {
  const { router } = programOf(frame, task)
  const { machine } = frame
  const sends: Send[] = []
  for (const { value, to, route } of outgoing) {
    const decided =
      route ?? (to === undefined ? router.route(value, false, machine) : router.routeTo(to, value, machine))
    sends.push({ value, route: isPromise(decided) ? await decided : decided })
  }
  const values = returned === undefined ? [] : returned instanceof MultiOutput ? returned.values : [returned]
  for (const one of values) sends.push(...(await oneSend(frame, task, messageOf(frame, task, one))))
  return sends
}

/** The returned value as a message. */
function messageOf(frame: TaskFrame, task: Task, value: unknown): Json {
  const owned = ownValue(value, frame.host, programOf(frame, task).returned)
  return failsAsValue(task) ? Object.freeze({ ok: true, value: owned }) : owned
}

/** Whether the final failure of the task is a message, not the end of the run. */
export function failsAsValue({ map, node }: Task): boolean {
  return map?.map.group.settle === true || node.spec.onError === "settle"
}

export function programOf({ program }: TaskFrame, { node }: Task): ProgramNode {
  return program.nodes[node.index] as ProgramNode
}
