/** Streaming: the events of a run as they happen, those of the engine and your own. */
import { node, type RunEvent, workflow } from "superstep"

const chapters = node("chapters", (title: string) => [`${title}, part 1`, `${title}, part 2`])
const translate = node("translate", async (chapter: string, ctx) => {
  ctx.emit("progress", { chapter })
  return chapter.toUpperCase()
})
const bind = node("bind", (parts: readonly string[]) => parts.join(" | "))

export const translation = workflow("translation").start(chapters).map(chapters, translate, bind).build()

/** One line for the events that are interesting to a person. */
export function describe(event: RunEvent): string | undefined {
  switch (event.type) {
    case "superstep.started":
      return `superstep ${event.superstep}: ${event.tasks} to do`
    case "custom":
      return `  ${event.node}: ${JSON.stringify(event.data)}`
    case "output":
      return `output: ${event.value}`
    case "run.finished":
      return event.status
    default:
      return undefined
  }
}

if (import.meta.filename === process.argv[1]) {
  // The stream ends with the run. Leaving it early does not stop the run.
  for await (const event of translation.stream("manual")) {
    const line = describe(event)
    if (line !== undefined) console.log(line)
  }
}
