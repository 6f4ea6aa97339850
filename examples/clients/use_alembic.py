# Alembic: a migration that creates the extension and a membership index.
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Column, Text, create_engine

with create_engine("postgresql+psycopg2://").begin() as connection:
    op = Operations(MigrationContext.configure(connection))
    op.execute("CREATE EXTENSION IF NOT EXISTS bloomfilter")
    op.create_table("deny", Column("url", Text, primary_key=True))
    op.create_index("deny_filter", "deny", ["url"], postgresql_using="membership",
                    postgresql_with={"error_rate": 0.001})
    print(connection.exec_driver_sql("SELECT pg_get_indexdef('deny_filter'::regclass)").scalar())

# Output:
# CREATE INDEX deny_filter ON public.deny USING membership (url) WITH (error_rate='0.001')
