// A gate at which workers wait until the memory they hold has been measured.

/**
 * `wait()` is what a worker awaits; `full` resolves once `places` workers are waiting; `open()` lets them continue.
 */
export function makeGate(places) {
  let open
  let filled
  let waiting = 0
  const opened = new Promise((resolve) => {
    open = resolve
  })
  const full = new Promise((resolve) => {
    filled = resolve
  })
  function wait() {
    waiting += 1
    if (waiting === places) filled()
    return opened
  }
  return { wait, full, open }
}
