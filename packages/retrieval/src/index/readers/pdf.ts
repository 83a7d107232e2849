/** PDF by unpdf: page by page, as text. What is only a picture of text has none, and that is told. */
import { SuperstepError } from "@superstep/engine"
import { optionalPackage } from "../../optional-package.ts"
import type { Part } from "../chunks.ts"

/** The little of unpdf that is used. */
interface Unpdf {
  getDocumentProxy(data: Uint8Array, options: { verbosity: number }): Promise<PdfDocument>
}

interface PdfDocument {
  readonly numPages: number
  getPage(page: number): Promise<PdfPage>
  destroy?(): Promise<void>
}

interface PdfPage {
  getTextContent(): Promise<{
    readonly items: readonly { readonly str?: string; readonly hasEOL?: boolean }[]
  }>
  cleanup?(): unknown
}

/** It would write to the console by itself. */
const ERRORS_ONLY = 0

export async function* readPdf(bytes: Uint8Array, signal?: AbortSignal): AsyncGenerator<Part> {
  const { getDocumentProxy } = await optionalPackage<Unpdf>("unpdf", "Reading PDF", async () => {
    const name = "unpdf"
    return (await import(name)) as Unpdf
  })
  const document = await getDocumentProxy(bytes, { verbosity: ERRORS_ONLY }).catch((error: unknown) => {
    throw unreadable(error)
  })
  let hasText = false
  try {
    for (let page = 1; page <= document.numPages; page++) {
      signal?.throwIfAborted()
      const text = await pageText(document, page)
      if (text.trim() === "") continue
      hasText = true
      yield { section: {} }
      yield { text, page }
    }
  } finally {
    await document.destroy?.()
  }
  if (!hasText) {
    throw new SuperstepError(
      "DOCUMENT_UNREADABLE",
      "it has no text, only pictures: make it searchable (OCR) first",
    )
  }
}

async function pageText(document: PdfDocument, number: number): Promise<string> {
  try {
    const page = await document.getPage(number)
    const { items } = await page.getTextContent()
    page.cleanup?.()
    return items.map(({ str = "", hasEOL = false }) => (hasEOL ? `${str}\n` : str)).join("")
  } catch (error) {
    throw unreadable(error)
  }
}

function unreadable(error: unknown): SuperstepError {
  const { name, message } = error as Error
  const what =
    name === "PasswordException" ? "it needs a password" : `it is no PDF that can be read (${message})`
  return new SuperstepError("DOCUMENT_UNREADABLE", what, { cause: error, retryable: false })
}
