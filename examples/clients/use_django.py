# Django: a field, a lookup, an index class and a first migration.  The field is no TextField,
# whose lookups would search the base64.  In a project, settings and manage.py replace the setup.
import os

import django
from django.conf import settings

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql",
                                          "NAME": os.environ["PGDATABASE"]}})
django.setup()

from django.contrib.postgres.indexes import PostgresIndex
from django.contrib.postgres.operations import CreateExtension
from django.db import connection, migrations, models, utils
from django.db.migrations.state import ProjectState

class BloomField(models.Field):
    def db_type(self, connection):
        return "bloom"

@BloomField.register_lookup
class BloomContains(models.Lookup):
    lookup_name = "contains"

    def as_sql(self, compiler, connection):
        left, left_params = self.process_lhs(compiler, connection)
        right, right_params = self.process_rhs(compiler, connection)
        return f"bloom_contains({left}, {right})", [*left_params, *right_params]

class MembershipIndex(PostgresIndex):
    suffix = "membership"

class Filter(models.Model):
    name = models.TextField(primary_key=True)
    seen = BloomField()

    class Meta:
        app_label = "example"
        db_table = "filters"

class Migration(migrations.Migration):
    operations = [
        CreateExtension("bloomfilter"),
        migrations.CreateModel("Blocked", [("url", models.TextField(primary_key=True))]),
        migrations.AddIndex("blocked", MembershipIndex(fields=["url"], name="blocked_filter"))]

with connection.schema_editor() as editor:
    Migration("0001_initial", "example").apply(ProjectState(), editor)
with connection.cursor() as cursor:
    cursor.execute("SELECT pg_get_indexdef('blocked_filter'::regclass)")
    print(cursor.fetchone()[0])

print(Filter.objects.filter(name="numbers", seen__contains=7).exists(),
      Filter.objects.filter(name="numbers", seen__contains=100001).exists())
hosts = Filter.objects.get(name="hosts")
print(type(hosts.seen))
Filter.objects.filter(name="hosts").update(
    seen=models.Func(models.F("seen"), models.Value("newest"), function="bloom_add"))
print(Filter.objects.filter(name="hosts", seen__contains="newest").exists())
try:
    print(Filter.objects.filter(name="numbers", seen__contains="7").exists())
except utils.ProgrammingError as error:
    print(str(error).splitlines()[0])

# Output:
# CREATE INDEX blocked_filter ON public.example_blocked USING membership (url)
# True False
# <class 'str'>
# True
# filter holds elements of class integer, not text
