/** All orders in which the steps of several actors can follow each other. `steps`: how many steps each actor has. */
export function orders(...steps: readonly number[]): number[][] {
  if (steps.every((left) => left === 0)) return [[]];
  return steps.flatMap((left, actor) =>
    left === 0 ? [] : orders(...steps.with(actor, left - 1)).map((rest) => [actor, ...rest]),
  );
}

interface Actor {
  /** Makes the actor take its next step. Undefined during a step, and after the last one. */
  go?: () => void;
  done: boolean;
}

/** Makes actors take their steps in an order that a spec gives. */
export class Turns {
  private readonly actors = new Map<number, Actor>();
  private changed: () => void = () => undefined;

  /** An actor awaits it before each of its steps. */
  readonly gate = (actor: number): Promise<void> =>
    new Promise((resolve) => {
      this.actors.get(actor)!.go = resolve;
      this.changed();
    });

  /** Resolves with the result of each actor. Steps that the order does not have follow in any order. */
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

  /** Makes one step. Resolves when the actor is before its next step, or is done. */
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
