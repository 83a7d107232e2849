/**
 * Splits text into chunks of similar size for search, at the end of a paragraph or else of a sentence, with some overlap.
 * The text arrives in parts of any size and is never in memory as a whole: at most one part and one chunk are buffered.
 * The same text results in the same chunks, however it is split into parts.
 */

/** The position of a chunk: a line of a file, or a page of a document. */
export interface ChunkPosition {
  readonly line?: number | undefined
  readonly page?: number | undefined
}

/** Metadata of a document. */
export interface DocumentFacts {
  readonly author?: string | undefined
  /** 2026-03-14 */
  readonly date?: string | undefined
}

/** The output of readers: text, and metadata of the document. */
export type DocumentPart = Part | { readonly facts: DocumentFacts }

/** A section ends the chunk before it, and is the title of the chunks that follow. */
export type Part =
  | { readonly section: { readonly title?: string | undefined } }
  | (ChunkPosition & { readonly text: string })

export interface Chunk extends ChunkPosition {
  readonly text: string
  readonly title?: string | undefined
}

export interface ChunkOptions {
  /** Maximum characters of a chunk. Default 800. */
  readonly size?: number | undefined
  /** The approximate number of characters that the next chunk repeats. Default 100. */
  readonly overlap?: number | undefined
}

interface Mark extends ChunkPosition {
  readonly offset: number
}

export const CHUNK_SIZE = 800
export const CHUNK_OVERLAP = 100

export async function* chunksOf(
  parts: AsyncIterable<Part> | Iterable<Part>,
  options: ChunkOptions = {},
): AsyncGenerator<Chunk> {
  const { size = CHUNK_SIZE, overlap = CHUNK_OVERLAP } = options
  let title: string | undefined
  let text = ""
  let marks: Mark[] = []
  /** The end of the text that is already in a chunk. The overlap alone makes no chunk. */
  let taken = 0

  function* cut(isEnd: boolean): Generator<Chunk> {
    let start = 0
    // A border is searched in a whole window, so that the ends of parts have no influence.
    while (text.length - start > (isEnd ? 0 : size)) {
      if (isEnd && text.slice(taken).trim() === "") {
        start = text.length
        break
      }
      const window = text.slice(start, start + size + 1)
      const length = window.length > size ? borderIn(window, size) : window.length
      const chunk = text.slice(start, start + length)
      const leading = chunk.length - chunk.trimStart().length
      if (leading < chunk.length)
        yield { text: chunk.trim(), title, ...placeAt(text, marks, start + leading) }
      taken = start + length
      if (taken >= text.length) start = text.length
      else start += Math.max(1, length - overlapOf(chunk, overlap))
    }
    marks = marksFrom(text, marks, start)
    text = text.slice(start)
    taken = Math.max(0, taken - start)
  }

  for await (const part of parts) {
    if ("section" in part) {
      yield* cut(true)
      marks = []
      title = part.section.title
    } else if (part.text !== "") {
      marks.push({ offset: text.length, line: part.line, page: part.page })
      text += part.text
      yield* cut(false)
    }
  }
  yield* cut(true)
}

const SENTENCE_END = /[.!?…。！？]["'”’)\]]*(?=\s|[\u3040-\u30FF\u3400-\u9FFF]|$)/g

/** The length of the next chunk. The window is longer than `size`. */
function borderIn(window: string, size: number): number {
  const least = Math.floor(size * 0.4)
  const paragraph = window.lastIndexOf("\n\n", size - 2)
  if (paragraph >= least) return paragraph + 2
  let sentence = -1
  for (const { index, 0: end } of window.matchAll(SENTENCE_END)) {
    if (index + end.length <= size) sentence = index + end.length
  }
  if (sentence >= least) return sentence
  for (const sign of ["\n", " ", "\t"]) {
    const at = window.lastIndexOf(sign, size - 1)
    if (at >= least) return at + 1
  }
  return isInsidePair(window, size) ? size - 1 : size
}

/** The number of characters at the end of the chunk that the next one repeats: whole sentences, or else whole words. */
function overlapOf(chunk: string, overlap: number): number {
  if (overlap === 0 || chunk.length <= 2 * overlap) return 0
  const tail = chunk.slice(-overlap)
  const sentence = /[.!?…。！？]["'”’)\]]*\s+(?=\S)/.exec(tail)
  if (sentence !== null) return tail.length - sentence.index - sentence[0].length
  const word = /\s+(?=\S)/.exec(tail)
  if (word !== null) return tail.length - word.index - word[0].length
  return isInsidePair(chunk, chunk.length - overlap) ? overlap - 1 : overlap
}

function isInsidePair(text: string, at: number): boolean {
  return /[\uD800-\uDBFF]/.test(text[at - 1] ?? "") && /[\uDC00-\uDFFF]/.test(text[at] ?? "")
}

function placeAt(text: string, marks: readonly Mark[], offset: number): ChunkPosition {
  const mark = marks.findLast((one) => one.offset <= offset)
  if (mark?.line === undefined) return { page: mark?.page }
  return { line: mark.line + lineBreaks(text, mark.offset, offset) }
}

/** The marks of the remaining text when the text before `start` is dropped. */
function marksFrom(text: string, marks: readonly Mark[], start: number): Mark[] {
  const later = marks
    .filter(({ offset }) => offset > start)
    .map((mark) => ({ ...mark, offset: mark.offset - start }))
  return start >= text.length ? later : [{ offset: 0, ...placeAt(text, marks, start) }, ...later]
}

function lineBreaks(text: string, from: number, to: number): number {
  let count = 0
  for (let at = text.indexOf("\n", from); at >= 0 && at < to; at = text.indexOf("\n", at + 1)) count++
  return count
}
