/** Around the screens: one that cannot be drawn says so, and the rail still leads elsewhere. */
import { Component, type ReactNode } from "react"
import { onReturn, useIsAnswering } from "../api/connection.ts"
import { Button } from "../ui/button.tsx"
import { Empty } from "../ui/states.tsx"

interface BoundaryProps {
  readonly bar: ReactNode
  readonly children: ReactNode
}

function Reason({ error }: { readonly error: unknown }) {
  const isAnswering = useIsAnswering()
  // What the browser says about a file that it could not load helps nobody.
  if (!isAnswering) return "The server did not deliver it. It opens by itself when the server is back."
  return error instanceof Error ? error.message : String(error)
}

export class Boundary extends Component<BoundaryProps, { readonly error?: unknown }> {
  override state: { readonly error?: unknown } = {}
  #end: (() => void) | undefined

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error }
  }

  override componentDidCatch(): void {
    // Screens are loaded when they are opened. One that the server could not deliver is there when the server is back.
    this.#end ??= onReturn(() => location.reload())
  }

  override componentWillUnmount(): void {
    this.#end?.()
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <>
        {this.props.bar}
        <div role="alert">
          <Empty icon="alert" title="This screen could not be shown">
            <p>
              <Reason error={error} />
            </p>
            <p>
              <Button onClick={() => location.reload()}>Load again</Button>
            </p>
          </Empty>
        </div>
      </>
    )
  }
}
