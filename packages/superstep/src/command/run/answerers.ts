/** Answers the questions of a run: by the person at the terminal, by a flag, or not at all. */
import { type Cli, isInteractive } from "../cli.ts"
import { printText, sanitize } from "../terminal/terminal.ts"
import { isApproval } from "./read-input.ts"
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
