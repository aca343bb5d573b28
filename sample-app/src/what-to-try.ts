import type { Settings } from './settings.js';

/** The lines a newcomer pastes into a second terminal. */
export function whatToTry(
  port: number,
  { folder, jobs, messages, payWithin, welcomeAfter, day }: Settings,
): string {
  const at = `localhost:${port}`;
  const seconds = (ms: number) => `${Math.round(ms / 100) / 10} s`;
  const idOf = (command: string) => `$(${command} | grep -o '[0-9a-f-]\\{36\\}')`;
  const servers = [
    ...('beanstalks' in jobs ? [`, jobs on ${jobs.beanstalks?.join(', ')}`] : []),
    ...(messages.brokers === 'memory' ? [] : [`, messages on ${messages.brokers.join(', ')}`]),
  ].join('');
  return `
Listening on http://${at}; everything is stored in ${folder}${servers}: stop and start as you like.
The dashboard shows what comes due: http://${at}/dq
Try these in another terminal, and watch this one:

  # An order that is not paid within ${seconds(payWithin)} is cancelled, and its tea is back in stock.
  curl ${at}/orders -d product=tea -d quantity=2
  curl ${at}/stock

  # One that is paid stays: its cancellation is revoked. Before that it can have more time: the job is moved.
  ORDER=${idOf(`curl -s ${at}/orders -d product=mug -d quantity=1`)}
  curl -X POST ${at}/orders/$ORDER/postpone
  curl -X POST ${at}/orders/$ORDER/pay
  curl ${at}/orders

  # Each change of an order goes through a topic, from which the sales are made. The price of a kettle is not there at first:
  # its message waits as a job, comes back, and holds up no other.
  curl ${at}/orders -d product=kettle -d quantity=1
  curl ${at}/sales

  # A welcome mail ${seconds(welcomeAfter)} after a registration. busy.example is busy at first, so that one is tried again.
  curl ${at}/users -d name=Ann -d email=ann@example.com
  curl ${at}/users -d name=Bob -d email=bob@busy.example
  curl ${at}/mails

  # Deleted in 30 days (of ${seconds(day)} each), with notices by mail on days 23, 28 and 29; undo it before.
  RESOURCE=${idOf(`curl -s ${at}/resources -d name=photos -d owner=ann@example.com`)}
  curl -X DELETE ${at}/resources/$RESOURCE
  curl -X POST ${at}/resources/$RESOURCE/undo

Ctrl-C ends it.
`;
}
