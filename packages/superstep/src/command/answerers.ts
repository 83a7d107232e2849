/** Who answers the questions of a run: the person at the terminal, a flag, or nobody here. */

import { isApproval } from "./ask-person.ts"
import type { Cli } from "./cli.ts"
import type { Answerer } from "./supervise-run.ts"
import { foreign, wrapped } from "./terminal.ts"

/** There is a person who sees the question and can type. */
export function isInteractive({ io, err }: Cli): boolean {
  return io.stdin.isTTY === true && err.isTerminal
}

export function atTheTerminal(cli: Cli): Answerer {
  return async (request, signal) => {
    if (!isInteractive(cli)) return { kind: "open" }
    const { askPerson } = await import("./ask-person.ts")
    const { stdin: input, stderr: output, env } = cli.io
    return await askPerson(request, { input, output, signal, by: env.USER ?? env.USERNAME })
  }
}

export const nobody: Answerer = async () => ({ kind: "open" })

/** `--yolo`: tools run. What is denied by a rule never gets here. */
export function allowingTools(others: Answerer): Answerer {
  return async (request, signal) => {
    if (isApproval(request.data)) return { kind: "answer", value: { approve: true }, by: "--yolo" }
    return await others(request, signal)
  }
}

/** In a script nobody is asked: a tool that needs consent does not run. */
export function refusingTools({ err }: Pick<Cli, "err">, others: Answerer): Answerer {
  const reason = "Nobody is there to allow it."
  return async (request, signal) => {
    if (isApproval(request.data)) {
      const what = `Refused: ${request.prompt} Add --yolo, or allow the tool in the permissions of the file.`
      for (const line of wrapped(foreign(what), err.width)) err.line(line)
      return { kind: "answer", value: { approve: false, reason }, by: "exec" }
    }
    return await others(request, signal)
  }
}
