import { DelayedHandler } from 'nest-dq';

export class CustomerGone extends Error {
  override readonly name = 'CustomerGone';
}

/** A provider whose handler of the tube `work` does this, under these decorators. */
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
