/** The operations of a context that are recorded under keys. One function each: a handler reads few of them, and often. */
import type { Context } from "../ports/program.ts"
import { unlistened } from "./context.ts"
import type { HandlerKeys } from "./handler-keys.ts"
import type { TaskOperations } from "./task-operations.ts"

export function keyedStep(operations: TaskOperations, keys: HandlerKeys): Context["step"] {
  return (name, run, options) =>
    unlistened(operations, "ctx.step", () => operations.step(keys, name, run, options))
}

export function keyedCall(operations: TaskOperations, keys: HandlerKeys): Context["call"] {
  return (workflow, input, options) =>
    unlistened(operations, "ctx.call", () => operations.call(keys, workflow, input, options))
}

export function keyedAsk(operations: TaskOperations, keys: HandlerKeys): Context["ask"] {
  return (question) => unlistened(operations, "ctx.ask", () => operations.ask(keys, question))
}

export function keyedWaitFor(operations: TaskOperations, keys: HandlerKeys): Context["waitFor"] {
  return (name, options) =>
    unlistened(operations, "ctx.waitFor", () => operations.waitFor(keys, name, options))
}

export function keyedWaitForUpdate(operations: TaskOperations, keys: HandlerKeys): Context["waitForUpdate"] {
  return (name, options) =>
    unlistened(operations, "ctx.waitForUpdate", () => operations.waitForUpdate(keys, name, options))
}

export function keyedSleep(operations: TaskOperations, keys: HandlerKeys): Context["sleep"] {
  return (milliseconds) => unlistened(operations, "ctx.sleep", () => operations.sleep(keys, milliseconds))
}

/** All of them, for a scope. */
export function allKeyed(
  operations: TaskOperations,
  keys: HandlerKeys,
): Pick<Context, "step" | "call" | "ask" | "waitFor" | "waitForUpdate" | "sleep"> {
  return {
    step: keyedStep(operations, keys),
    call: keyedCall(operations, keys),
    ask: keyedAsk(operations, keys),
    waitFor: keyedWaitFor(operations, keys),
    waitForUpdate: keyedWaitForUpdate(operations, keys),
    sleep: keyedSleep(operations, keys),
  }
}
