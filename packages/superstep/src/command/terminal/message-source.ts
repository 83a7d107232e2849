/** The messages of a chat: from a line editor at a terminal, or the lines of a pipe. */
import { createInterface } from "node:readline"
import type { Io } from "../cli.ts"

export interface MessageSource {
  /** Undefined: there are no more. */
  next(): Promise<string | undefined>
  close(): void
}

export function messageSource(io: Io, prompt: string): MessageSource {
  return io.stdin.isTTY === true ? typedMessages(io, prompt) : pipedMessages(io)
}

/**
 * A line editor for each message, so that the keyboard is free for questions in between. Pasted text arrives as several
 * lines at once, and is one message; so is a line that ends with a backslash, with the next one.
 */
function typedMessages({ stdin, stderr }: Io, prompt: string): MessageSource {
  let history: string[] = []
  return {
    next: () =>
      new Promise((resolve) => {
        const lines: string[] = []
        let message: string | undefined
        const editor = createInterface({ input: stdin, output: stderr, terminal: true, history, prompt })
        const done = () => {
          const last = lines.at(-1)
          if (last?.endsWith("\\")) {
            lines[lines.length - 1] = last.slice(0, -1)
            editor.setPrompt("… ")
            return editor.prompt()
          }
          message = lines.join("\n")
          editor.close()
        }
        editor.on("history", (lived) => {
          history = [...lived]
        })
        editor.on("line", (line) => {
          lines.push(line)
          const count = lines.length
          setImmediate(() => {
            if (lines.length === count) done()
          })
        })
        editor.on("SIGINT", () => editor.close())
        editor.on("close", () => resolve(message))
        editor.prompt()
      }),
    close: () => undefined,
  }
}

function pipedMessages({ stdin }: Io): MessageSource {
  const editor = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })
  const lines = editor[Symbol.asyncIterator]()
  return {
    async next() {
      const { value, done } = await lines.next()
      return done ? undefined : value
    },
    close: () => editor.close(),
  }
}
