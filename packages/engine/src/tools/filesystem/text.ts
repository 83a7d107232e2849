/** Files as text: decoded or refused, shown by lines, edited by exact pieces. */
import type { SuperstepError } from "../../core/index.ts"
import { terminalError } from "../../core/internal.ts"
import { cutText } from "../../text/index.ts"

/** The text of a file, or an error if it is not UTF-8: editing anything else would corrupt it. */
export function decodeText(bytes: Buffer, path: string): string {
  if (bytes.subarray(0, 8_192).includes(0)) throw binary(path, bytes.length)
  try {
    // The byte order mark stays, so that an edit preserves it.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw binary(path, bytes.length)
  }
}

function binary(path: string, bytes: number): SuperstepError {
  return terminalError("NOT_TEXT", `"${path}" is not UTF-8 text (${bytes} bytes).`)
}

export interface TextPart {
  readonly text: string
  /** 1 for the first line. */
  readonly from: number
  readonly to: number
  readonly lines: number
  /** Present if there is more: what to ask for next. */
  readonly note?: string
}

/** As many whole lines as `maxChars` allows, starting at line `from`. A single line that is longer is cut. */
export function linesOf(text: string, from: number, count: number, maxChars: number): TextPart {
  const lines = text.split("\n")
  if (lines.at(-1) === "" && lines.length > 1) lines.pop()
  const start = Math.min(from, lines.length)
  let to = start - 1
  let length = 0
  while (to < lines.length && to - start + 1 < count) {
    const next = (lines[to]?.length ?? 0) + 1
    if (length + next > maxChars && to >= start) break
    length += next
    to++
  }
  const shown = lines.slice(start - 1, to).join("\n")
  const notes: string[] = []
  if (shown.length > maxChars) notes.push(`Line ${start} is cut after ${maxChars} characters.`)
  if (to < lines.length) {
    notes.push(`Lines ${start} to ${to} of ${lines.length}; continue with from_line ${to + 1}.`)
  }
  const note = notes.length > 0 && { note: notes.join(" ") }
  return { text: cutText(shown, maxChars), from: start, to, lines: lines.length, ...note }
}

export interface Edit {
  readonly old_text: string
  readonly new_text: string
  /** Without it, the old text must occur exactly once. */
  readonly replace_all?: boolean | undefined
}

/** Applies all edits, one after the other, or throws and applies none. */
export function editText(text: string, edits: readonly Edit[], path: string): string {
  return edits.reduce((edited, edit, index) => applyEdit(edited, edit, `${path}, edit ${index + 1}`), text)
}

function applyEdit(text: string, edit: Edit, where: string): string {
  const { old_text, new_text } = withLineEnds(text, edit)
  if (old_text === "") {
    throw terminalError("EDIT_INVALID", `${where}: old_text is empty. Write the whole file instead.`)
  }
  const pieces = text.split(old_text)
  if (pieces.length === 1) {
    const problem = "old_text is not in the file. It has to be the same to the letter; read the file again."
    throw terminalError("EDIT_NOT_FOUND", `${where}: ${problem}`)
  }
  if (pieces.length > 2 && edit.replace_all !== true) {
    const problem = `old_text is in the file ${pieces.length - 1} times. Give more of the text around it, or set replace_all.`
    throw terminalError("EDIT_AMBIGUOUS", `${where}: ${problem}`)
  }
  return pieces.join(new_text)
}

/** Models write \n; a file with \r\n keeps it. */
function withLineEnds(text: string, edit: Edit): Edit {
  if (!text.includes("\r\n") || text.includes(edit.old_text)) return edit
  const ends = (piece: string) => piece.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n")
  return { ...edit, old_text: ends(edit.old_text), new_text: ends(edit.new_text) }
}
