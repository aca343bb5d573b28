import { DelayedHandler } from 'nest-dq';

export class CustomerGone extends Error {
  override readonly name = 'CustomerGone';
}

/** A class with these decorators, whose handler of the tube `work` calls `what`. */
export function failing(what: () => unknown, ...decorators: (ClassDecorator & MethodDecorator)[]) {
  class Work {
    @DelayedHandler('work')
    run(): unknown {
      return what();
    }
  }
  for (const decorate of decorators) decorate(Work);
  return Work;
}

export const fail = () => {
  throw new CustomerGone('customer 42 is gone');
};
