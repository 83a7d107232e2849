/** Answers the questions of a run: by the person at the terminal, by a flag, or not at all. */
import type { RunEvent } from "@superstep/engine"
import type { ApprovalRequest } from "@superstep/engine/agents"
import { type Cli, isInteractive } from "../cli.ts"
import { printText, sanitize } from "../terminal/terminal.ts"
import { isApproval, isRecord } from "./read-input.ts"
import type { Answerer } from "./supervise.ts"

export function promptAnswerer(cli: Cli): Answerer {
  return async (request, signal) => {
    if (!isInteractive(cli)) return { kind: "open" }
    const { askPerson } = await import("../terminal/ask-person.ts")
    const { stdin: input, stderr: output } = cli.io
    return await askPerson(request, { input, output, signal, by: userOf(cli) })
  }
}

/** Recorded as the author of an answer. */
export function userOf({ io }: Cli): string | undefined {
  return io.env.USER ?? io.env.USERNAME
}

/** `--yolo`: tools run without approval. A tool that a rule denies never reaches this point. */
export function allowingTools(others: Answerer): Answerer {
  return async (request, signal) => {
    if (isApproval(request.data)) return { kind: "answer", value: { approve: true }, by: "--yolo" }
    return await others(request, signal)
  }
}

/** For scripts: a tool that needs approval is refused, and other questions stay open. */
export function refusingTools({ err }: Pick<Cli, "err">): Answerer {
  return async ({ data, prompt }) => {
    if (!isApproval(data)) return { kind: "open" }
    printText(err, sanitize(`Refused: ${prompt} Add --yolo, or allow the tool in the file's permissions.`))
    const reason = "Nobody is available to approve it."
    return { kind: "answer", value: { approve: false, reason }, by: "exec" }
  }
}

/**
 * Tools that a person always allowed in this run. The answer is in the journal, with its author, so a run that is resumed
 * elsewhere knows it too; later approvals are answered in that person's name.
 */
export class AlwaysAllowed {
  readonly #asked = new Map<string, ApprovalRequest>()
  /** By agent and tool: who allowed it. */
  readonly #allowed = new Map<string, string>()

  note(event: RunEvent): void {
    if (event.type === "request.opened" && isApproval(event.request.data))
      this.#asked.set(event.request.id, event.request.data)
    if (event.type !== "request.answered") return
    const asked = this.#asked.get(event.request)
    this.#asked.delete(event.request)
    const { value, by = "somebody" } = event
    if (asked !== undefined && isRecord(value) && value.approve === true && value.always === true)
      this.#allowed.set(keyOf(asked), by)
  }

  answerer(others: Answerer): Answerer {
    return async (request, signal) => {
      const { data } = request
      const by = isApproval(data) && !data.mustAsk ? this.#allowed.get(keyOf(data)) : undefined
      if (by !== undefined) return { kind: "answer", value: { approve: true }, by: `${by} (always allowed)` }
      return await others(request, signal)
    }
  }
}

function keyOf({ agent, tool }: ApprovalRequest): string {
  return JSON.stringify([agent, tool])
}
