/**
 * `/docs`: the routes of the API as one page of HTML, without scripts and without requests to any host. The content
 * security policy allows its one style sheet, by hash, and nothing else.
 */
import { createHash } from "node:crypto"

/** What the page reads of an OpenAPI document. */
interface Document {
  readonly info: { readonly title: string; readonly description?: string }
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> }
}

interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly "x-role"?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content?: Content }
  readonly responses?: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema?: { readonly description?: string }
}

type Content = Readonly<Record<string, { readonly schema?: unknown }>>

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin-top: 2.5rem; font: 600 1rem ui-monospace, monospace }
h2 b { display: inline-block; min-width: 4.5rem }
table { border-collapse: collapse; width: 100% }
td { border-top: 1px solid #8884; padding: .3rem .6rem .3rem 0; vertical-align: top }
code, pre { font: .85rem ui-monospace, monospace }
pre { overflow: auto; padding: .6rem; background: #8882 }
.role { font-size: .85rem; opacity: .7 }
`
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
}

/** The parameter is an OpenAPI document, whose type has more than the page needs. */
export function docsPage(document: object): Response {
  const { info, paths = {}, components } = document as Document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => section(method, path, operation as Operation)),
  )
  const schemas = Object.entries(components?.schemas ?? {}).map(
    ([name, schema]) => `<h2 id="schema-${escaped(name)}">${escaped(name)}</h2>${json(schema)}`,
  )
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(info.title)} API</title><style>${STYLE}</style></head><body>
<h1>${escaped(info.title)} API</h1>
<p>${escaped(info.description ?? "")} As OpenAPI: <a href="openapi.json">openapi.json</a>.</p>
${operations.join("\n")}
<h1>Schemas</h1>
${schemas.join("\n")}
</body></html>
`
  return new Response(html, { headers: HEADERS })
}

function section(method: string, path: string, operation: Operation): string {
  const { summary = "", description = "", parameters = [], requestBody, responses = {} } = operation
  const role = operation["x-role"]
  const fields = parameters.map((one) => [
    code(one.name),
    `${escaped(one.in)}${one.required ? ", required" : ""}`,
    text(one.description ?? one.schema?.description ?? ""),
  ])
  const answers = Object.entries(responses).map(([status, response]) => [
    code(status),
    text(response.description ?? ""),
    contents(response.content),
  ])
  return [
    `<h2><b>${escaped(method.toUpperCase())}</b>${escaped(path)}</h2>`,
    `<p>${text(summary)}. ${text(description)}${role === undefined ? "" : ` <span class="role">Role: ${escaped(role)}.</span>`}</p>`,
    table(fields),
    requestBody === undefined ? "" : `<p>Body: ${contents(requestBody.content)}</p>`,
    table(answers),
  ].join("\n")
}

function table(rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ""
  const lines = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`)
  return `<table>${lines.join("")}</table>`
}

function contents(content: Content = {}): string {
  return Object.entries(content)
    .map(([type, { schema }]) => `${code(type)} ${schemaOf(schema)}`)
    .join(" ")
}

/** A link to a schema of the document, or the schema itself. */
function schemaOf(schema: unknown): string {
  const name = /^#\/components\/schemas\/(.+)$/.exec(
    (schema as { $ref?: string } | undefined)?.$ref ?? "",
  )?.[1]
  if (name !== undefined) return `<a href="#schema-${escaped(name)}">${escaped(name)}</a>`
  return schema === undefined ? "" : json(schema)
}

function json(value: unknown): string {
  return `<pre>${escaped(JSON.stringify(value, undefined, 2))}</pre>`
}

function code(value: string): string {
  return `<code>${escaped(value)}</code>`
}

/** Text with code between backticks. */
function text(value: string): string {
  return escaped(value).replace(/`([^`]+)`/g, "<code>$1</code>")
}

function escaped(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
