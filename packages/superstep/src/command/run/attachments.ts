/** `--attach` and `/attach`: files that are sent with a message. Text becomes text; the model must take everything else. */
import { isUtf8 } from "node:buffer"
import { readFile, stat } from "node:fs/promises"
import { basename, resolve } from "node:path"
import type { Json } from "@superstep/engine"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import { usageError } from "../print/errors.ts"
import { size } from "../print/figures.ts"

const MAX_BYTES = 20_000_000
/** Characters of all text files would fill the context of a model. */
const MAX_TEXT_BYTES = 1_000_000

export interface Attachment {
  readonly name: string
  /** A part of a message. */
  readonly part: Json
}

export async function readAttachment(path: string, cwd: string): Promise<Attachment> {
  const file = resolve(cwd, path)
  const found = await stat(file).catch(() => undefined)
  if (found === undefined) throw usageError(`Cannot attach ${path}: no such file.`)
  if (!found.isFile()) throw usageError(`Cannot attach ${path}: it is not a file.`)
  if (found.size > MAX_BYTES) throw tooLarge(path, found.size, MAX_BYTES)
  const bytes = await readFile(file).catch((error: Error) => {
    throw usageError(`Cannot attach ${path}: ${error.message}`, error)
  })
  const name = basename(file)
  if (isUtf8(bytes) && !bytes.includes(0) && !bytes.subarray(0, 5).equals(Buffer.from("%PDF-"))) {
    if (bytes.length > MAX_TEXT_BYTES) throw tooLarge(path, bytes.length, MAX_TEXT_BYTES)
    return { name, part: { type: "text", text: `The file ${name}:\n\n${bytes.toString("utf8")}` } }
  }
  const { filePart } = await import("@superstep/engine/tools")
  try {
    return { name, part: { ...filePart(bytes, { filename: name }) } as unknown as Json }
  } catch {
    throw usageError(`Cannot attach ${path}: its type is unknown. Attach text, images, PDF, MP3 or WAV.`)
  }
}

function tooLarge(path: string, bytes: number, most: number): Error {
  return usageError(`Cannot attach ${path}: it has ${size(bytes)}, and at most ${size(most)} are sent.`)
}

/** Only an agent takes files: the prompt of a workflow is text. */
export function checkTakesFiles({ name, definition, workflow }: OpenedWorkflow): void {
  if (definition === undefined ? "asTool" in workflow : definition.dialect === "agents") return
  throw usageError(
    `${name} takes text only. Attach files to a message to an agent: a file with agents and no workflow.`,
  )
}

/** The input of a run: the text alone, or a message with files. The engine checks what the model takes. */
export function messageInput(
  text: string,
  attachments: readonly Attachment[],
  before: readonly Json[] = [],
): Json {
  if (attachments.length === 0 && before.length === 0) return text
  const parts = attachments.map(({ part }) => part)
  const own = text === "" && parts.length > 0 ? [] : [{ type: "text", text }]
  return { messages: [...before, { role: "user", content: [...own, ...parts] }] }
}
