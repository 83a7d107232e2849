/** Flow schedule: a task starts as soon as its input is available, without waiting for other tasks of the superstep. */
import { node, workflow } from "superstep"

/**
 * A video is transcoded, which is slow, while its thumbnail is created and published. With supersteps the thumbnail is
 * published when both are done; with flow, when the thumbnail is done.
 */
export function processing(schedule: "superstep" | "flow", transcoding: () => Promise<unknown>) {
  const upload = node("upload", (video: string) => video)
  const transcode = node("transcode", async (video: string) => {
    await transcoding()
    return `${video} transcoded`
  })
  const thumbnail = node("thumbnail", (video: string) => `${video}.png`)
  const publish = node("publish", (image: string) => `${image} published`)
  return workflow("processing", { schedule })
    .start(upload)
    .fanOut(upload, [transcode, thumbnail])
    .edge(thumbnail, publish)
    .build()
}

if (import.meta.filename === process.argv[1]) {
  const slow = () => new Promise((done) => setTimeout(done, 10))
  for (const schedule of ["superstep", "flow"] as const) {
    const { outputs } = await processing(schedule, slow).run("talk")
    console.log(`${schedule}:`, outputs)
  }
}
