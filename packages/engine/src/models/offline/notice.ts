/** What the offline model says about itself: in the metadata of each reply, and once in the terminal of whoever runs it. */
export const OFFLINE_METADATA = { offline: true, note: "not a language model" } as const

/** For the terminal, once per process. */
export const OFFLINE_NOTICE =
  "The offline model answers: a deterministic stand-in that quotes its prompt, not a language model. " +
  "For real answers name a model, for example openai/gpt-5."

/** What an agent of a definition that names no model is given. Apart from `offline`, which somebody has chosen. */
export const UNNAMED_MODEL = "offline/unnamed"

/** How an answer without context begins, so that a later step does not quote it as if it were knowledge. */
export const NOTHING_TO_QUOTE = "I am the offline stand-in, not a language model"

let told = false

/** Says once in a process what answers, where a person sees it: in a terminal, on stderr. */
export function tellOffline(terminal: Pick<NodeJS.WriteStream, "isTTY" | "write"> = process.stderr): void {
  if (told || !terminal.isTTY) return
  told = true
  terminal.write(`${OFFLINE_NOTICE}\n`)
}
