/**
 * Reads the messages of a chat: from a line editor at a terminal, or from the lines of a pipe. At a terminal the arrow keys
 * bring back earlier messages. Ctrl-C discards the line; on an empty line, the second one in a row ends the input.
 */
import { createInterface, type Interface } from "node:readline"
import type { Io } from "../cli.ts"

export interface MessageSource {
  /** Undefined at the end of the input. */
  next(): Promise<string | undefined>
  close(): void
}

/** `history`: earlier messages, oldest first. */
export function messageSource(io: Io, prompt: string, history: readonly string[] = []): MessageSource {
  return io.stdin.isTTY === true ? typedMessages(io, prompt, history) : pipedMessages(io)
}

const MAX_HISTORY = 200
const LEAVE = "Press Ctrl-C again, or type /exit, to leave.\n"

/**
 * Creates a line editor for each message, so that questions can use the keyboard in between. Pasted text arrives as
 * several lines at once and is one message. A line that ends with a backslash continues on the next line.
 */
function typedMessages({ stdin, stderr }: Io, prompt: string, earlier: readonly string[]): MessageSource {
  // The editor wants the newest first, and one line each.
  let history = earlier.slice(-MAX_HISTORY).map((text) => text.replace(/\s*\n\s*/g, " "))
  history.reverse()
  return {
    next: () =>
      new Promise((resolve) => {
        const lines: string[] = []
        let message: string | undefined
        let isLeaving = false
        const editor = createInterface({
          input: stdin,
          output: stderr,
          terminal: true,
          history,
          historySize: MAX_HISTORY,
          removeHistoryDuplicates: true,
          prompt,
        })
        const again = (text: string) => {
          editor.setPrompt(text)
          editor.prompt()
        }
        const done = () => {
          const last = lines.at(-1)
          if (last?.endsWith("\\")) {
            lines[lines.length - 1] = last.slice(0, -1)
            return again("… ")
          }
          message = lines.join("\n")
          editor.close()
        }
        editor.on("history", (lived) => {
          history = [...lived]
        })
        editor.on("line", (line) => {
          isLeaving = false
          lines.push(line)
          const count = lines.length
          setImmediate(() => {
            if (lines.length === count) done()
          })
        })
        editor.on("SIGINT", () => {
          const isEmpty = typedIn(editor) === "" && lines.length === 0
          if (isEmpty && isLeaving) return editor.close()
          isLeaving = isEmpty
          lines.length = 0
          stderr.write(`\n${isEmpty ? LEAVE : ""}`)
          clear(editor)
          again(prompt)
        })
        editor.on("close", () => resolve(message))
        editor.prompt()
      }),
    close: () => undefined,
  }
}

function typedIn({ line }: Interface): string {
  return line
}

/** Removes what is typed, on both sides of the cursor. */
function clear(editor: Interface): void {
  editor.write(null, { ctrl: true, name: "e" })
  editor.write(null, { ctrl: true, name: "u" })
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
