const MachineDate = Date;

/** Milliseconds since 1970 by the machine's clock, also after `setClockAhead`. */
export function machineTime(): number {
  return MachineDate.now();
}

/**
 * Sets the Date of this process `ms` milliseconds ahead; negative: behind. Timers and performance.now stay right, as on
 * a machine whose time is wrong, because they use the monotonic clock. So this needs no libfaketime.
 */
export function setClockAhead(ms: number): void {
  globalThis.Date = class extends MachineDate {
    // Only a Date without arguments reads the clock.
    constructor(...parts: [] | [value: number | string | Date]) {
      super(...((parts.length === 0 ? [MachineDate.now() + ms] : parts) as [number]));
    }

    static override now(): number {
      return MachineDate.now() + ms;
    }
  } as DateConstructor;
}
