/** A run as a test of its workflow: a fixture and `expectReplay`, in one file. Pure. */

interface TestedRun {
  readonly id: string
  readonly workflow: string
}

/** `from`: the module that exports the workflow. */
export function testFile({ id, workflow }: TestedRun, fixture: unknown, from?: string): string {
  const name = identifier(workflow)
  const json = JSON.stringify(fixture, undefined, 1)
  // In source code, a key of this name would be the prototype.
  const data = json.includes('"__proto__"') ? `JSON.parse(${JSON.stringify(JSON.stringify(fixture))})` : json
  return `import { expectReplay } from "superstep/testing"
import { test } from "vitest"
${from === undefined ? "// The workflow of the run: change this to where yours is.\n" : ""}import { ${name} } from ${JSON.stringify(from ?? `./${workflow}.ts`)}

// Replayed offline: models, tools and people answer as they did in the run.
test(${JSON.stringify(`${workflow} does what it did in run ${id}`)}, async () => {
  await expectReplay(${name}, fixture)
})

const fixture = ${data}
`
}

/** The name of a workflow as that of a constant: "daily report" is `dailyReport`. */
function identifier(name: string): string {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? []
  const joined = words
    .map((word, i) => (i === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join("")
  return /^\p{L}/u.test(joined) && !RESERVED.has(joined) ? joined : `workflow${joined}`
}

const RESERVED: ReadonlySet<string> = new Set(
  "break case catch class const continue debugger default delete do else enum export extends false finally fixture for function if import in instanceof new null return super switch test this throw true try typeof var void while with yield let static await".split(
    " ",
  ),
)
