import type { Clock, Timer } from 'nest-handlers/time';

export interface HostClockOptions {
  /** How far its monotonic clock is ahead of that of the world, in ms. */
  readonly offset?: number;
  /** How long `soon` takes, in ms. It is the latency of messages of this host. */
  readonly latency?: () => number;
}

/**
 * The time of one simulated machine. While it is frozen, nothing happens there. When it thaws, everything happens that was
 * due meanwhile. After it is dead, nothing happens any more.
 */
export class HostClock implements Clock {
  private isDead = false;
  private readonly freezes = new Set<() => void>();
  private offset: number;
  private held: (() => void)[] = [];

  constructor(
    private readonly world: Clock,
    private readonly options: HostClockOptions = {},
  ) {
    this.offset = options.offset ?? 0;
  }

  get dead(): boolean {
    return this.isDead;
  }

  get frozen(): boolean {
    return this.freezes.size > 0;
  }

  wall(): number {
    return this.world.wall();
  }

  now(): number {
    return this.world.now() + this.offset;
  }

  after(delay: number, callback: () => void): Timer {
    let cancelled = false;
    const run = () => {
      if (!cancelled) callback();
    };
    const timer = this.world.after(delay, () => this.enter(run));
    return {
      cancel: () => {
        cancelled = true;
        timer.cancel();
      },
    };
  }

  next(callback: () => void): void {
    process.nextTick(() => this.enter(callback));
  }

  soon(callback: () => void): void {
    const latency = this.options.latency?.() ?? 0;
    const arrive = () => this.enter(callback);
    if (latency > 0) this.world.after(latency, arrive);
    else this.world.soon(arrive);
  }

  /** Calls back on this host: now, or when it thaws if it is frozen. */
  enter(callback: () => void): void {
    if (this.isDead) return;
    if (this.frozen) this.held.push(callback);
    else callback();
  }

  /** Sets the clock forward, or back. */
  shift(by: number): void {
    this.offset += by;
  }

  /** Returns a function that ends this freeze. A host that is frozen twice thaws when both have ended. */
  freeze(): () => void {
    const end = () => {
      if (this.freezes.delete(end) && !this.frozen) this.goOn();
    };
    this.freezes.add(end);
    return end;
  }

  /** Ends all freezes. */
  thaw(): void {
    for (const end of this.freezes) end();
  }

  kill(): void {
    this.isDead = true;
    this.held = [];
  }

  private goOn(): void {
    const { held } = this;
    this.held = [];
    for (const callback of held) this.world.soon(() => this.enter(callback));
  }
}
