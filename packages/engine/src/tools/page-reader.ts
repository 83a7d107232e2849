/** Reads a page of the web as text. What may be reached is in network-rules.ts. */
import { SuperstepError } from "../core/index.ts"
import { cutText } from "../text/index.ts"
import { decodeBody, mustBeText } from "./fetch.ts"
import { type GuardedResponse, guardedRequests, type RequestLimits } from "./guarded-request.ts"
import { htmlToText } from "./html-text.ts"

export interface PageReader {
  read(url: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<WebPage>
}

export interface WebPage {
  /** Where the text came from in the end, after redirects. */
  readonly url: string
  readonly title: string
  readonly text: string
}

export interface PageReaderOptions extends RequestLimits {
  /** Characters of text at the most. Default 100,000. */
  readonly maxChars?: number | undefined
}

const MAX_CHARS = 100_000

export function pageReader(options: PageReaderOptions = {}): PageReader {
  const { maxChars = MAX_CHARS, ...limits } = options
  const request = guardedRequests(limits)
  return {
    async read(url, { signal = new AbortController().signal } = {}) {
      const response = await request({ url }, { signal, accept: mustBeText })
      if (response.status >= 400) {
        const { host } = new URL(response.url)
        throw new SuperstepError("PAGE_UNREADABLE", `${host} answered ${response.status}.`, {
          retryable: response.status === 429 || response.status >= 500,
        })
      }
      mustBeText(binaryType(response) ?? "")
      const source = decodeBody(response)
      const isPage = response.type.includes("html") || (response.type === "" && /^\s*</.test(source))
      const page = isPage ? htmlToText(source, response.url) : { text: source }
      const title = "title" in page && page.title !== undefined ? page.title : new URL(response.url).hostname
      return { url: response.url, title, text: cutText(page.text, maxChars) }
    },
  }
}

const LOOKED_AT = 8_000

/** Some servers call everything text, or say nothing: a PDF, a picture, an archive are none all the same. */
function binaryType({ body, charset = "" }: GuardedResponse): string | undefined {
  if (body.toString("latin1", 0, 5) === "%PDF-") return "application/pdf"
  // The letters of UTF-16 have a NUL each.
  const isWide = /^utf-?(?:16|32)/i.test(charset)
  return !isWide && body.subarray(0, LOOKED_AT).includes(0) ? "application/octet-stream" : undefined
}
