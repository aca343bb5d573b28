const MachineDate = Date;

/** Milliseconds since 1970 by the machine's clock, whatever `setClockAhead` made of this process's. */
export function machineTime(): number {
  return MachineDate.now();
}

/**
 * Makes this process believe that it is so many ms later; negative: earlier. Only its Date is wrong then: timers and
 * performance.now go by the monotonic clock, which is right on a machine whose time is wrong. That is why this is no
 * libfaketime: Node needs nothing of it for that.
 */
export function setClockAhead(ms: number): void {
  globalThis.Date = class extends MachineDate {
    // What a Date is made of differs by their number: none is the one case that asks the clock.
    constructor(...parts: [] | [value: number | string | Date]) {
      super(...((parts.length === 0 ? [MachineDate.now() + ms] : parts) as [number]));
    }

    static override now(): number {
      return MachineDate.now() + ms;
    }
  } as DateConstructor;
}
