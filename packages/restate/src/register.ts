/** Tells a Restate cluster where a worker is. */
import { SuperstepError } from "@superstep/engine"

export interface RegisterOptions {
  /** The admin API of the cluster: `http://restate:9070`. */
  readonly admin: string
  /** Where Restate reaches the worker, or the balancer before several workers: `http://worker:9080`. */
  readonly url: string
  /** The worker speaks HTTP/1.1 only, as its `fetch` does on most platforms. Default false. */
  readonly http1?: boolean | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Milliseconds to wait for a cluster that is starting. Default 30,000. */
  readonly patience?: number | undefined
}

/** Registers a deployment. One that is registered already stays as it is; a new one gets all activations from now on. */
export async function registerWorker(options: RegisterOptions): Promise<void> {
  const { admin, url, http1 = false, headers = {}, patience = 30_000 } = options
  const until = Date.now() + patience
  for (;;) {
    let problem: string
    try {
      const response = await fetch(`${admin.replace(/\/+$/, "")}/deployments`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ uri: url, use_http_11: http1, force: false }),
      })
      if (response.ok) return
      problem = `${response.status} ${(await response.text()).slice(0, 500)}`
      // Below that the request is wrong, and stays so.
      if (response.status < 500 && response.status !== 429) throw refused(admin, url, problem)
    } catch (error) {
      if (error instanceof SuperstepError) throw error
      problem = error instanceof Error ? error.message : String(error)
    }
    if (Date.now() > until) throw refused(admin, url, problem)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function refused(admin: string, url: string, problem: string): SuperstepError {
  const text = `Restate at ${admin} did not register the worker ${url}: ${problem}. Check both addresses; Restate has to reach the worker.`
  return new SuperstepError("RESTATE_REGISTRATION", text)
}
