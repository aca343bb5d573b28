import { check } from './checks.js';
import type { Plan } from './plan.js';
import { simulate } from './simulation.js';

/** A smaller plan that breaks the same promise. Without any one of its actions, it would not. */
export async function shrink(plan: Plan): Promise<Plan> {
  const promise = (await broken(plan))[0];
  let { actions } = plan;
  for (let size = actions.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < actions.length;) {
      const fewer = [...actions.slice(0, at), ...actions.slice(at + size)];
      if ((await broken({ ...plan, actions: fewer })).includes(promise!)) actions = fewer;
      else at += size;
    }
  }
  return { ...plan, actions };
}

async function broken(plan: Plan): Promise<string[]> {
  return check(await simulate(plan)).map((found) => found.split(':', 1)[0]!);
}
