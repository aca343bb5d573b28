/** All orders in which the steps of several actors can follow each other, given how many each has. */
export function orders(...steps: readonly number[]): number[][] {
  if (steps.every((left) => left === 0)) return [[]];
  return steps.flatMap((left, actor) =>
    left === 0 ? [] : orders(...steps.with(actor, left - 1)).map((rest) => [actor, ...rest]),
  );
}

interface Actor {
  /** Lets it take its next step; undefined while it is on its way, and when it is done. */
  go?: () => void;
  done: boolean;
}

/** Actors who take their steps in an order that a spec gives. */
export class Turns {
  private readonly actors = new Map<number, Actor>();
  private changed: () => void = () => undefined;

  /** To be awaited by an actor before each of its steps. */
  readonly gate = (actor: number): Promise<void> =>
    new Promise((resolve) => {
      this.actors.get(actor)!.go = resolve;
      this.changed();
    });

  /** What each actor comes to. Steps beyond those in the order follow in any order. */
  async play<T>(order: readonly number[], actors: readonly (() => Promise<T>)[]): Promise<T[]> {
    const results = actors.map((act, index) => {
      const actor: Actor = { done: false };
      this.actors.set(index, actor);
      return act().finally(() => {
        actor.done = true;
        this.changed();
      });
    });
    for (const index of order) await this.step(index);
    for (const index of actors.keys()) while (!this.actors.get(index)!.done) await this.step(index);
    return Promise.all(results);
  }

  /** Until the actor stands before its next step, or is done. */
  private async step(index: number): Promise<void> {
    const actor = this.actors.get(index)!;
    await this.arrival(actor);
    const { go } = actor;
    actor.go = undefined;
    go?.();
    await this.arrival(actor);
  }

  private async arrival(actor: Actor): Promise<void> {
    while (!actor.go && !actor.done) await new Promise<void>((resolve) => (this.changed = resolve));
  }
}
