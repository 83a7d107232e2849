/** The same run from elsewhere: as a request, as a command, as code. Pure. */

interface Started {
  readonly id: string
  readonly workflow: string
  readonly input: unknown
  readonly url: string
  /** Requests need a key. */
  readonly hasKey: boolean
}

/** For a POSIX shell: nothing inside of single quotes is special. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Starts a run with the same input, and waits for its result. */
export function curlFor({ workflow, input, url, hasKey }: Started): string {
  return [
    `curl -X POST ${quoted(`${url}/v1/workflows/${encodeURIComponent(workflow)}/runs`)}`,
    ...(hasKey ? ['-H "authorization: Bearer $SUPERSTEP_API_KEY"'] : []),
    "-H 'content-type: application/json'",
    `-d ${quoted(JSON.stringify({ input }))}`,
  ].join(" \\\n  ")
}

export function commandFor({ id }: Pick<Started, "id">): string {
  return `superstep runs show ${/^[\w.-]+$/.test(id) ? id : quoted(id)}`
}

/** Starts a run with the same input, and prints its events. */
export function typescriptFor({ workflow, input, url, hasKey }: Started): string {
  const key = hasKey ? ", key: process.env.SUPERSTEP_API_KEY" : ""
  return [
    'import { createClient } from "superstep/client"',
    "",
    `const client = createClient({ url: ${JSON.stringify(url)}${key} })`,
    `const run = await client.start(${JSON.stringify(workflow)}, ${JSON.stringify(input ?? null, undefined, 2)})`,
    "for await (const event of run.events()) console.log(event)",
    "",
  ].join("\n")
}
