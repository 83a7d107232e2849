/** Server-sent events of a response: the data of each, as text. */
import { tooLarge } from "./remote-request.ts"

export interface StreamLimits {
  readonly url: string
  /** Of all events together. */
  readonly maxBytes: number
}

export async function* eventData(response: Response, limits: StreamLimits): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let size = 0
  let rest = ""
  let data: string[] = []
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > limits.maxBytes) throw tooLarge(limits)
    rest += decoder.decode(chunk, { stream: true })
    // A line may end with CR LF, whose halves may come apart: a CR at the end waits for what follows.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ""
    for (const line of lines) {
      if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5))
      else if (line === "" && data.length > 0) {
        yield data.join("\n")
        data = []
      }
    }
  }
  // Some servers leave out the empty line at the end.
  if (rest.startsWith("data:")) data.push(rest.slice(5).trim())
  if (data.length > 0) yield data.join("\n")
}
