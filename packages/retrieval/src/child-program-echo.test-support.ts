/** A program for tests that echoes, hangs or exits on request. */
import { UP } from "./child-program.ts"

interface EchoSettings {
  readonly greeting?: string
  readonly broken?: boolean
}

interface EchoRequest {
  readonly say?: string
  readonly do?: "hang" | "die"
}

const { greeting, broken } = JSON.parse(process.argv[2] as string) as EchoSettings
let nth = 0

process.on("disconnect", () => process.exit())
process.on("message", (request: EchoRequest) => {
  if (request.do === "die") process.exit(7)
  if (request.do === "hang") return
  nth += 1
  const secret = process.env.SUPERSTEP_TEST_SECRET
  process.send?.({ echo: request.say, nth, greeting, secret })
})
process.send?.(broken === true ? { error: "broken" } : UP)
