/**
 * The studio: static files under `/studio/`, without authentication, because they contain no data. Everything that the page
 * shows comes from the API, with the key of the person who looks at it. The content security policy allows files and requests of
 * this origin only: no inline script, no inline style, no other host.
 */
import type { Handler } from "hono"
import type { Env } from "./access.ts"

/** As `loadStudio` of @superstep/studio returns it. */
export interface StudioFiles {
  readonly files: ReadonlyMap<
    string,
    { readonly body: Uint8Array<ArrayBuffer>; readonly type: string; readonly isImmutable: boolean }
  >
  readonly page: string
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

const YEAR = 31_536_000

export const STUDIO_PATH = "/studio/"

/** `basePath`: where the server is mounted, which the page must know to find its files. */
export function studioHandler({ files, page }: StudioFiles, basePath: string): Handler<Env> {
  const html = page.replace(/<base href="[^"]*"/, `<base href="${basePath}${STUDIO_PATH}"`)
  return (c) => {
    const headers = { "content-security-policy": POLICY, "x-content-type-options": "nosniff" }
    const file = files.get(c.req.path.slice(STUDIO_PATH.length))
    if (file !== undefined) {
      const caching = file.isImmutable ? `public, max-age=${YEAR}, immutable` : "no-cache"
      return c.body(file.body, 200, { ...headers, "content-type": file.type, "cache-control": caching })
    }
    // A file of an earlier version: the page must not be taken for it.
    if (c.req.path.startsWith(`${STUDIO_PATH}assets/`)) return c.notFound()
    return c.html(html, 200, { ...headers, "cache-control": "no-cache" })
  }
}
