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
Listening on http://${at}; everything is stored in ${folder}${servers}, so it survives restarts.
The dashboard shows upcoming jobs: http://${at}/dq
Try these in another terminal and watch this one:

  # An order that is not paid within ${seconds(payWithin)} is cancelled, and its tea is back in stock.
  curl ${at}/orders -d product=tea -d quantity=2
  curl ${at}/stock

  # A paid order stays: its cancellation is revoked. Postponing gives it more time before that: the job is rescheduled.
  ORDER=${idOf(`curl -s ${at}/orders -d product=mug -d quantity=1`)}
  curl -X POST ${at}/orders/$ORDER/postpone
  curl -X POST ${at}/orders/$ORDER/pay
  curl ${at}/orders

  # Each change of an order goes through a topic that feeds the sales. The price of a kettle is missing at first:
  # its message waits as a job, is retried, and blocks no other.
  curl ${at}/orders -d product=kettle -d quantity=1
  curl ${at}/sales

  # A welcome mail ${seconds(welcomeAfter)} after registration. busy.example is busy at first, so that mail is retried.
  curl ${at}/users -d name=Ann -d email=ann@example.com
  curl ${at}/users -d name=Bob -d email=bob@busy.example

  # A newsletter every 5 s: a series made at run time, on the dashboard's cluster page. Unsubscribing removes it.
  USER_ID=${idOf(`curl -s ${at}/users -d name=Cy -d email=cy@example.com`)}
  curl ${at}/users/$USER_ID/newsletter -d every=5s
  curl -X DELETE ${at}/users/$USER_ID/newsletter
  curl ${at}/mails

  # Deleted after 30 days (of ${seconds(day)} each), with mail notices on days 23, 28 and 29; undo it before then.
  RESOURCE=${idOf(`curl -s ${at}/resources -d name=photos -d owner=ann@example.com`)}
  curl -X DELETE ${at}/resources/$RESOURCE
  curl -X POST ${at}/resources/$RESOURCE/undo

Press Ctrl-C to stop.
`;
}
