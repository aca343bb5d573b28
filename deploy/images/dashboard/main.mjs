// The dashboard behind HTTP basic authentication. Put TLS in front of it: the password crosses the network with each request.
import 'reflect-metadata';
import { createHash, timingSafeEqual } from 'node:crypto';
import { Module, UnauthorizedException } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DqModule } from 'nest-dq';
import { DqDashboardModule } from 'nest-dq/dashboard';

function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

const digest = (text) => createHash('sha256').update(text).digest();
const expected = digest(`${process.env.DASHBOARD_USER || 'admin'}:${required('DASHBOARD_PASSWORD')}`);

const guard = {
  canActivate(context) {
    const { headers } = context.switchToHttp().getRequest();
    const [, credentials = ''] = /^Basic (.+)$/i.exec(headers.authorization ?? '') ?? [];
    if (timingSafeEqual(digest(Buffer.from(credentials, 'base64')), expected)) return true;
    context.switchToHttp().getResponse().setHeader('WWW-Authenticate', 'Basic realm="nest-dq"');
    throw new UnauthorizedException();
  },
};

class AppModule {}
Module({
  imports: [
    DqModule.forRoot({
      beanstalks: required('DQ_BEANSTALKS').split(','),
      redis: required('DQ_REDIS'),
      prefix: process.env.DQ_PREFIX,
      consume: false,
    }),
    DqDashboardModule.forRoot({ guards: [guard], readOnly: process.env.DASHBOARD_READ_ONLY === 'true' }),
  ],
})(AppModule);

const app = await NestFactory.create(AppModule);
app.enableShutdownHooks();
await app.listen(process.env.PORT || 3000);
