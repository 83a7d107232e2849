/** A handler's way to return several messages, each as if it were the one returned. */
export class Several {
  readonly values: readonly unknown[]

  constructor(values: readonly unknown[]) {
    this.values = values
  }
}
