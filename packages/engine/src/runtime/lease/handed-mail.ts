/**
 * Mail that a dispatcher brought to this process: the store does not have it. Its sender gets the outcome when it is durable, and posts
 * the mail if there is none.
 */
import { isSuperstepError, type RunId, SuperstepError, toErrorData } from "../../core/index.ts"
import { deferred } from "../ports/maybe-promise.ts"
import type { Mail, MailOutcome } from "../ports/stored.ts"
import type { RunHost } from "../run/run-host.ts"

/** Error codes of a request to a run that has left this process. */
export const LEFT = ["RUN_TAKEN", "RUN_EVICTED"]

export class HandedMail {
  readonly #carrying = new Map<RunId, Promise<unknown>>()

  /** Resolves when the run has what was brought for it. Undefined if there is nothing: then it may be unloaded. */
  of(runId: RunId): Promise<unknown> | undefined {
    return this.#carrying.get(runId)
  }

  /** `load` brings the run here, or returns undefined if it cannot. */
  async carry(mail: Mail, load: () => Promise<RunHost | undefined>): Promise<MailOutcome | undefined> {
    const { runId } = mail
    const delivered = deferred()
    const all = Promise.all([this.#carrying.get(runId), delivered.promise])
    this.#carrying.set(runId, all)
    try {
      return await carriedOut(mail, load)
    } finally {
      delivered.resolve()
      if (this.#carrying.get(runId) === all) this.#carrying.delete(runId)
    }
  }
}

/** Undefined if the run cannot be loaded, or leaves again and again. */
async function carriedOut(
  mail: Mail,
  load: () => Promise<RunHost | undefined>,
): Promise<MailOutcome | undefined> {
  for (let isAgain = false; ; isAgain = true) {
    let host: RunHost | undefined
    try {
      host = await load()
      if (host === undefined) return undefined
      await carryOut(host, mail)
      return { ok: true }
    } catch (error) {
      // A run that only waited here may wait elsewhere since, and for something else: then this is no refusal.
      const hasLeft = LEFT.some((code) => isSuperstepError(error, code))
      if (!hasLeft && !(await host?.isTaken())) return await refusal(host, error)
      if (isAgain) return undefined
    }
  }
}

/** K3: a rejection counts once everything before it is durable. */
async function refusal(host: RunHost | undefined, error: unknown): Promise<MailOutcome | undefined> {
  if (host !== undefined) {
    try {
      await host.durable()
    } catch {
      return undefined
    }
  }
  const { code, message } = toErrorData(error)
  return { ok: false, code, message }
}

/** Resolves when it is durable. */
export async function carryOut(host: RunHost, { id, runId, command }: Mail): Promise<void> {
  if (command.type === "answer") await host.respond(command.request, command.value, command.by, id)
  else if (command.type === "escalate") await host.escalate(command, id)
  else if (command.type === "signal") await host.signal({ ...command, mail: id })
  else if (command.type === "pause") await host.pause({ reason: command.reason, by: command.by }, id)
  else if (command.type === "resume") await host.unpause({ by: command.by }, id)
  else if (command.type === "cancel") await host.cancel(command.reason, id)
  else throw commandUnknown(command, runId)
}

/** A later version may send what this one does not know: guessing could end a run. */
function commandUnknown({ type }: { readonly type: string }, run: RunId): SuperstepError {
  const text = `Run "${run}" is executed by a process that does not know "${type}". Update that process, and try again.`
  return new SuperstepError("COMMAND_UNKNOWN", text, { run })
}
