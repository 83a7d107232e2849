/** The operations of a context that are recorded under keys. One function each: a handler reads few of them, and often. */
import type { Json } from "../../core/index.ts"
import type { Context } from "../ports/program.ts"
import { contextWith, KEPT, unlistened } from "./context.ts"
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

/** The answer that the run keeps for a question. */
export function keyedKeptAnswer(
  operations: TaskOperations,
  keys: HandlerKeys,
): (name: string) => Json | undefined {
  return (name) => operations.keptAnswer(keys, name)
}

/** The same context with other keys. */
export function keyedScope(ctx: Context, operations: TaskOperations, keys: HandlerKeys): Context["scope"] {
  return (name) => {
    const own = keys.scope(name)
    const scoped = {
      scope: keyedScope(ctx, operations, own),
      step: keyedStep(operations, own),
      call: keyedCall(operations, own),
      ask: keyedAsk(operations, own),
      waitFor: keyedWaitFor(operations, own),
      waitForUpdate: keyedWaitForUpdate(operations, own),
      sleep: keyedSleep(operations, own),
      [KEPT]: keyedKeptAnswer(operations, own),
    }
    return contextWith(ctx, scoped)
  }
}
