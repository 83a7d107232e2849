/** The pages of a link: a question with its form, or what happened. They have no script, and everything in them is escaped. */
import { createHash } from "node:crypto"
import type { Json, StoredRequest } from "@superstep/engine"
import { html, raw } from "hono/html"
import type { ContentfulStatusCode } from "hono/utils/http-status"
import type { AnswerForm } from "./answer-form.ts"

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 10vh auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
h1 { font-size: 1.25rem; white-space: pre-wrap; overflow-wrap: anywhere }
pre { background: #f4f4f4; padding: .75rem; overflow: auto; max-height: 20rem; white-space: pre-wrap; overflow-wrap: anywhere }
button { font: inherit; padding: .5rem 1rem; margin: 0 .5rem .5rem 0; cursor: pointer }
label { display: block; margin: 0 0 1rem }
input:not([type=checkbox]), select, textarea { font: inherit; display: block; width: 100%; box-sizing: border-box; padding: .4rem }
.note { color: #555 }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #161616 } pre { background: #262626 } .note { color: #aaa } }
`

/** The page may send its form to where it came from, and load nothing. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ")

async function page(
  status: ContentfulStatusCode,
  title: string,
  content: ReturnType<typeof html>,
): Promise<Response> {
  const text = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${raw(STYLE)}</style>
</head>
<body>${content}</body>
</html>`
  return new Response(String(text), {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": POLICY,
      "cache-control": "no-store",
      "x-robots-tag": "noindex",
    },
  })
}

export function messagePage(status: ContentfulStatusCode, title: string, text: string): Promise<Response> {
  return page(status, title, html`<h1>${title}</h1><p>${text}</p>`)
}

export function questionPage(request: StoredRequest, form: AnswerForm, problem?: string): Promise<Response> {
  const { prompt, data, note, deadline } = request
  const content = html`<h1>${prompt}</h1>
${note === undefined ? "" : html`<p class="note">${note}</p>`}
${data === undefined || data === null ? "" : html`<pre>${shown(data, 2)}</pre>`}
${problem === undefined ? "" : html`<p role="alert"><strong>${problem}</strong></p>`}
<form method="post">${controls(form)}</form>
${deadline === undefined ? "" : html`<p class="note">Answer before ${new Date(deadline).toUTCString()}.</p>`}`
  return page(problem === undefined ? 200 : 422, "A question for you", content)
}

function controls(form: AnswerForm) {
  if (form.kind === "buttons") {
    return form.values.map((value, i) => html`<button name="choice" value="${i}">${shown(value)}</button> `)
  }
  return [
    ...form.fields.map((field) => html`<label>${field.label}${input(field)}</label>`),
    html`<button>Answer</button>`,
  ]
}

function input({
  name,
  kind,
  choices,
  isRequired,
}: Extract<AnswerForm, { kind: "fields" }>["fields"][number]) {
  const id = name === undefined ? "value" : `value.${name}`
  const required = isRequired ? raw(" required") : ""
  switch (kind) {
    case "boolean":
      return html` <input type="checkbox" name="${id}">`
    case "choice":
      return html`<select name="${id}"${required}>${choices.map((one, i) => html`<option value="${i}">${shown(one)}</option>`)}</select>`
    case "number":
      return html`<input type="number" step="any" name="${id}"${required}>`
    case "integer":
      return html`<input type="number" step="1" name="${id}"${required}>`
    case "text":
      return html`<textarea rows="3" name="${id}"></textarea>`
  }
}

function shown(value: Json, indent?: number): string {
  if (value === true) return "Yes"
  if (value === false) return "No"
  return typeof value === "string" ? value : JSON.stringify(value, null, indent)
}
